"""A service as somebody writes it who has never heard of a gateway: its document is FastAPI's own."""

import os

import httpx
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import OAuth2AuthorizationCodeBearer
from pydantic import BaseModel, Field

ISSUER = os.environ["ISSUER"]
app = FastAPI(title="Notes", version="1")
scheme = OAuth2AuthorizationCodeBearer(
    authorizationUrl=f"{ISSUER}/auth", tokenUrl=f"{ISSUER}/token", scheme_name="oauth"
)


class Note(BaseModel):
    title: str = Field(min_length=1, max_length=40)
    text: str = ""


class Refusal(BaseModel):
    detail: str


NOTES = {1: Note(title="first", text="hello")}
SEEN: set[str] = set()


async def known(token: str = Depends(scheme)) -> str:
    """Asks the authorization server itself whether the token is good."""
    async with httpx.AsyncClient() as client:
        auth = ("gateway", "a-secret-that-is-nowhere-else")
        said = await client.post(f"{ISSUER}/token/introspection", data={"token": token}, auth=auth)
    if not said.json().get("active"):
        raise HTTPException(401, "the token is not good")
    SEEN.add(token)
    return token


@app.get("/notes/{note_id}", operation_id="readNote", responses={404: {"model": Refusal}})
async def read_note(note_id: int, _: str = Depends(known)) -> Note:
    if note_id not in NOTES:
        raise HTTPException(404, "there is no such note")
    return NOTES[note_id]


@app.post("/notes", operation_id="makeNote", status_code=201, responses={409: {"model": Refusal}})
async def make_note(note: Note, _: str = Depends(known)) -> Note:
    if any(other.title == note.title for other in NOTES.values()):
        raise HTTPException(409, "there is a note of that title")
    NOTES[len(NOTES) + 1] = note
    return note


@app.get("/busy", operation_id="askBusy", responses={429: {"model": Refusal}})
async def ask_busy() -> Note:
    return JSONResponse({"detail": "slow down"}, status_code=429, headers={"retry-after": "11"})


@app.get("/page", operation_id="askPage")
async def ask_page() -> Note:
    return HTMLResponse("<html><h1>Please sign in</h1></html>")


@app.get("/tokens", operation_id="countTokens")
async def count_tokens() -> int:
    return len(SEEN)
