"""The ClientApp of a study: a node of Flower is a site, whichever process runs it.

Ray writes down what an actor raises, and Flower its message. So nothing is raised here: what
goes wrong is answered in one line without text of documents.
"""

from __future__ import annotations

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from inverse_deid.core.errors import InverseDeidError, describe_error
from inverse_deid.research.federated.flower.epoch_messages import (
    Answer,
    Question,
    keep_optimizer,
    kept_optimizer,
)
from inverse_deid.research.federated.simulated_site import SitePlan, simulated_site


def site_app(plan: SitePlan) -> ClientApp:
    """Trains an epoch for each message."""
    app = ClientApp()

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Message, context: Context) -> Message:
        return Message(answered(plan, message.content, context.state).record(), reply_to=message)

    return app


def answered(plan: SitePlan, content: RecordDict, state: RecordDict) -> Answer:
    """Train the epoch that is asked for.

    Args:
        plan: The study.
        content: Of the message.
        state: Of the node; takes the variables of the optimizer.
    """
    try:
        asked = Question.of(content)
        optimizer = kept_optimizer(state, asked.run)
        done = simulated_site(plan).epoch(asked.task, asked.proximal, optimizer)
        keep_optimizer(state, asked.run, done.optimizer)
        return Answer(done)
    except InverseDeidError as error:
        return Answer(problem=str(error))
    except Exception as error:  # noqa: BLE001 - Ray and Flower would write it down
        return Answer(problem=f"{describe_error(error)} in a local epoch")
