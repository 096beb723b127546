"""The requests that other libraries really send, captured on the loopback address.

`script` says what happens in a conversation, `loopback` plays the model, and one module for each library drives that
library in its recommended set-up. `catalogue` loads those that are installed. Nothing here knows what a request costs.
"""
