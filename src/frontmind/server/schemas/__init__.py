"""What goes over the wire: pydantic models, and how they are made of the assistant's values."""
