"""Everything that knows Flower: its SuperLink, its simulation engine and its secure aggregation.

Over the SuperLink (`superlink`, `connections`) a site is a SuperNode: it shows its key, sends heartbeats
and fetches its messages, all with Flower's own client. It lacks the part that fetches and runs the app of
whoever started a run: a site runs the installed program. The server takes the place of the process of
a ServerApp, and the app that it hands in is empty.

In a study, where one machine has all documents, the engine runs a ServerApp and a ClientApp
(`simulation`, `epochs`, `simulated_site`). `secure_aggregation` needs no engine.

Only `connections`, `epochs` and `secure_protocol` import Flower at once. The others import these when
they are needed, after `packages` has checked the version and turned off telemetry.

Source: flwr 1.41, `supernode/start_client_internal.py`, `supernode/fleet_http_connection.py`,
`superlink/runtime/run_serverapp.py`, `simulation/run_simulation.py`.
"""
