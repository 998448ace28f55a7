"""Who else looks at a stack: a browser tells every 20 s which one it shows, and gets the others' names."""

from clearhold.api.console.components.presence import others
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.http.fields import is_uuid
from clearhold.features.core.errors import ErrorCode, NotFoundError


async def look(visit: Visit) -> Answer:
    session = visit.signed_in.session
    stack_id = visit.params["stack_id"].lower()
    if not is_uuid(stack_id):  # another text could be as long as a request's head, and would be kept
        raise NotFoundError("Unknown stack on this tenant.", ErrorCode.STACK_NOT_FOUND)
    names = visit.services.presence.look(session.tenant_id, stack_id, session.name, visit.now)
    return HtmlAnswer("Queue", others(names))
