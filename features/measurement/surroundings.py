"""The edges of the graph at both ends of a measurement's subject, looked up once for all measurements."""

import msgspec

from clearhold.features.measurement.subject import Subject
from clearhold.features.windows.edges import Edges, node_of_actor
from clearhold.features.windows.graph import Graph


class Surroundings(msgspec.Struct, frozen=True, gc=False):
    """None for a side without edges or an unknown one; ``own`` is the actor, one of the two sides."""

    into_source: Edges | None
    out_of_source: Edges | None
    into_target: Edges | None
    into_own: Edges | None
    out_of_own: Edges | None


def surroundings_of(subject: Subject, graph: Graph) -> Surroundings:
    """The edges around the two sides of the subject."""
    source, target, actor = subject.source, subject.target, subject.actor
    into_source, out_of_source, into_target = graph.into.get(source), graph.out.get(source), graph.into.get(target)
    if actor is None:
        return Surroundings(into_source, out_of_source, into_target, None, None)
    if source == node_of_actor(actor.index):
        return Surroundings(into_source, out_of_source, into_target, into_source, out_of_source)
    return Surroundings(into_source, out_of_source, into_target, into_target, graph.out.get(target))
