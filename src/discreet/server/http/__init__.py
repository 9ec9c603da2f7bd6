"""The HTTP API of the desk: OpenAPI 3.1 on FastAPI and uvicorn, the extra ``discreet[server]``."""
