"""The chat page, in the two views of DT-004. `render` knows no Gradio, which only `app` and `mount` import."""
