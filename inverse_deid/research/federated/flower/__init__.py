"""What knows Flower: its SuperLink as a carrier of sealed bytes, its simulation engine for studies.

Over the SuperLink a site is a SuperNode: it shows its key, sends signs of life and fetches its
messages, all with Flower's own client. What it lacks is the part that fetches the app of
whoever started a run and runs it: a site runs the installed program. The server stands where
the process of a ServerApp would; the app that it hands in is empty (`parcels`, `node_end`,
`link_end`).

In a study, where one machine has all documents, the engine runs a ServerApp and a ClientApp
(`simulation`, `node_sites`, `site_app`, `epoch_messages`).

Source: flwr 1.41, `supernode/start_client_internal.py`, `supernode/fleet_http_connection.py`,
`superlink/runtime/run_serverapp.py`, `simulation/run_simulation.py`.
"""
