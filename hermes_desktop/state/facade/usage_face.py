"""The methods of SessionDB for tokens, costs, models and folders of sessions."""

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_desktop.state.facade.store_face import WritingFace
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions import session_facts, session_usage, sessions_table, usage_table
from hermes_desktop.state.sessions.session_usage import ContextSize, ModelUsage
from hermes_desktop.state.sessions.usage_table import RecordingOptions, Usage


class UsageFace(WritingFace):
    """The part of ``SessionDB`` that records what sessions used and where they ran."""

    def update_token_counts(
        self,
        /,
        session_id: str,
        input_tokens: int = 0,
        output_tokens: int = 0,
        *,
        absolute: bool = False,
        only_existing: bool = False,
        **amounts: Any,
    ) -> None:
        """Add one call's tokens and costs to a session, or set its totals (``absolute``).

        Args:
            session_id: Created with source ``unknown`` if it has no row, unless ``only_existing``.
            input_tokens: Of the request.
            output_tokens: Of the reply.
            absolute: The numbers are totals.
            only_existing: Do not create a session that has no row (any more).
            amounts: The other fields of ``usage_table.Usage``.
        """
        usage = Usage(input_tokens, output_tokens, **amounts)
        now = self._clock.time()
        self._execute_write(
            lambda conn: usage_table.update(
                conn,
                session_id,
                usage,
                RecordingOptions(now, absolute, only_existing, self.layout.counts_usage),
            )
        )

    def record_auxiliary_usage(
        self, /, session_id: str, task: str, *, only_existing: bool = False, **amounts: Any
    ) -> None:
        """Record one call of a side task (``vision``, ``title_generation``, …), outside the totals.

        Args:
            session_id: As in :meth:`update_token_counts`.
            task: The purpose of the call.
            only_existing: As in :meth:`update_token_counts`.
            amounts: Fields of ``usage_table.Usage``.
        """
        usage = Usage(**{"api_call_count": 1, **amounts})
        now = self._clock.time()
        self._execute_write(
            lambda conn: usage_table.add_auxiliary(
                conn,
                session_id,
                task,
                usage,
                RecordingOptions(now, only_existing=only_existing, shares=self.layout.counts_usage),
            )
        )

    def usage_of(self, session_ids: Sequence[str]) -> tuple[ModelUsage, ...]:
        """Return the combined usage of sessions by model, the largest first."""
        ids = [clean_text(each) for each in session_ids]
        return self.read(lambda conn: session_usage.used(conn, ids))

    def context_size(self, session_id: str) -> ContextSize:
        """Return the size of a session's context for the model, without its system prompt."""
        return self.read(lambda conn: session_usage.size(conn, clean_text(session_id)))

    def update_session_billing_route(
        self, session_id: str, *, provider: str, base_url: str, billing_mode: str | None = None
    ) -> None:
        """Overwrite the billing route of a session; its stored prompt is dropped with it.

        Args:
            session_id: The session; an unknown one changes nothing.
            provider: The new provider.
            base_url: Its address.
            billing_mode: How it bills; None keeps the stored mode.
        """
        values = (provider, base_url, billing_mode)
        names_prompts = self.layout.names_prompts
        self._execute_write(
            lambda conn: session_facts.set_route(
                conn, session_id, values, names_prompts=names_prompts
            )
        )

    def update_session_meta(
        self, session_id: str, model_config_json: str, model: str | None = None
    ) -> None:
        """Overwrite a session's settings; the marks of its origin (``_…``) stay.

        Args:
            session_id: The session; an unknown one changes nothing.
            model_config_json: A JSON object; blank for none.
            model: A new model, None to keep the old one.

        Raises:
            ValueError: The text is not a JSON object, which would break every list of sessions.
        """
        config = session_facts.parse_config(model_config_json)
        self._execute_write(lambda conn: session_facts.set_config(conn, session_id, config, model))

    def update_session_cwd(
        self,
        session_id: str,
        cwd: str,
        git_branch: str | None = None,
        git_repo_root: str | None = None,
    ) -> None:
        """Store the working folder of a session; blank values keep their old value."""
        places = {"cwd": cwd, "git_branch": git_branch, "git_repo_root": git_repo_root}

        def store(conn: Any) -> None:
            for name, value in places.items():
                if cwd and value:
                    sessions_table.set_column(conn, session_id, name, value)

        self._execute_write(store)

    def backfill_repo_roots(self, cwd_to_root: Mapping[str, str]) -> None:
        """Set the repository of sessions that only have a folder."""
        roots = dict(cwd_to_root)
        self._execute_write(lambda conn: session_facts.fill_roots(conn, roots))
