"""model.py: stands where an agent expects its model, and answers with the tool calls of a list, one after the other. The agent is the real one.

Speaks as the APIs of Anthropic, OpenAI (responses) and Google do, as far as their agents ask. `Model(calls)` has a port; `results` is what the
agent sent back for each call, as text.
"""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def anthropic(body, call):
    """Events for what comes next: the call, or a last word."""
    block = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}} if call else {"type": "text", "text": ""}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])} if call else {"type": "text_delta", "text": "finished"}
    message = {"id": "message", "type": "message", "role": "assistant", "model": body["model"], "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return [{"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"}]


def anthropic_results(body):
    return [part["content"] if isinstance(part["content"], str) else json.dumps(part["content"])
            for message in body["messages"] if isinstance(message["content"], list)
            for part in message["content"] if part.get("type") == "tool_result"]


def openai(body, call):
    item = ({"type": "function_call", "id": call["id"], "call_id": call["id"], "name": call["name"], "arguments": json.dumps(call["input"])} if call else
            {"type": "message", "id": "message", "role": "assistant", "content": [{"type": "output_text", "text": "finished"}]})
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
    return [{"type": "response.created", "response": {"id": "response"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": "response", "usage": usage}}]


def openai_results(body):
    return [item["output"] if isinstance(item["output"], str) else json.dumps(item["output"])
            for item in body["input"] if item.get("type") == "function_call_output"]


def google(body, call):
    part = {"functionCall": {"name": call["name"], "args": call["input"]}} if call else {"text": "finished"}
    return [{"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}]


def google_results(body):
    return [json.dumps(part["functionResponse"]["response"]) for content in body.get("contents", []) for part in content.get("parts", [])
            if "functionResponse" in part]


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_error(404)

    do_HEAD = do_GET

    def do_POST(self):
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        path = self.path.split("?")[0]
        kinds = {"/v1/messages": (anthropic, anthropic_results), "/v1/responses": (openai, openai_results)}
        make, results = kinds.get(path, (google, google_results) if path.endswith(":streamGenerateContent") else (None, None))
        if not make:
            self.send_error(404)
            return
        seen = results(body)
        has_tools = bool(body.get("tools"))
        call = None
        if has_tools and len(seen) < len(model.calls):
            name, arguments = model.calls[len(seen)]
            call = {"id": f"call_{len(seen)}", "name": name, "input": arguments}
        model.saw(body, seen)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in make(body, call):
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())


class Model:
    def __init__(self, calls):
        self.calls, self.results, self.tools = calls, [], []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.model = self
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def saw(self, body, seen):
        if len(seen) > len(self.results):
            self.results = seen
        for tool in body.get("tools", []):
            self.tools += [tool.get("name")] + [one["name"] for one in tool.get("functionDeclarations", [])]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
