"""The chat page, in the two views of DT-004; only `app` and `mount` import Gradio."""
