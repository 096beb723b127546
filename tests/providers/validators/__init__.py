"""What each provider accepts, written down from its documentation and its SDK's types, not from our encoders."""
