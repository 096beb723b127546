"""The HTTP APIs that existing clients speak: OpenAI's Chat Completions and Responses, and Anthropic's Messages."""
