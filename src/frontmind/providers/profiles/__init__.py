"""What is known of providers and their models: facts as data, each with its source and how sure it is."""
