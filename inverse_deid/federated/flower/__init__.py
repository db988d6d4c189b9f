"""Flower's SuperLink as a carrier of sealed bytes: what here speaks to it, and nothing else does.

A site is a SuperNode to the SuperLink: it shows its key, sends signs of life and fetches its
messages, all with Flower's own client. What it lacks is the part that fetches the app of
whoever started a run and runs it: a site runs the installed program. The server stands where
the process of a ServerApp would; the app that it hands in is empty.

Source: flwr 1.41, `supernode/start_client_internal.py`, `supernode/fleet_http_connection.py`,
`superlink/runtime/run_serverapp.py`.
"""
