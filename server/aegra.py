"""What the server adds to Aegra's routes: the same as to LangGraph's, as Aegra wants it; named in deploy/aegra/.

Aegra takes applications of FastAPI alone, which it brings along itself.
"""

from fastapi import FastAPI

from server.app import all_routes, lifespan, middleware

app = FastAPI(title="Stepwell", routes=all_routes, middleware=middleware, lifespan=lifespan)
