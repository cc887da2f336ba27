"""The chat model of an OpenAI-compatible endpoint, complete also where LangChain's loses something in streams.

While a reply is streamed (LangGraph does that to every model call under `stream_mode="messages"`), `ChatOpenAI` drops
refusals, and it repairs malformed tool arguments by cutting them short: `{"code": "print("a")"}` becomes the
cell `print(`. Both are kept here beside the message, for `models.messages` to look at.
"""

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from models.messages import RAW_ARGUMENTS


class EndpointChat(ChatOpenAI):
    """`ChatOpenAI` that keeps refusals and unparsed tool arguments of streamed replies."""

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        generation = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if generation is None or not isinstance(generation.message, AIMessageChunk):
            return generation
        message = generation.message
        choices = chunk.get("choices") or [{}]
        if refusal := (choices[0].get("delta") or {}).get("refusal"):
            message.additional_kwargs["refusal"] = refusal
        if arguments := {str(part["index"]): part["args"] for part in message.tool_call_chunks if part["args"]}:
            message.additional_kwargs[RAW_ARGUMENTS] = arguments
        return generation
