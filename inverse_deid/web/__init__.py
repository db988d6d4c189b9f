"""What the service and the review share as servers: connections with deadlines, metrics, logs, reloads."""
