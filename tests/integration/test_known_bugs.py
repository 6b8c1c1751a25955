"""What went wrong in other gateways, and which test would show it here.

Each row is a mistake that users of such gateways have reported, with its reports. It names the
tests that would fail if it were made here; where no test can, ARCHITECTURE.md says under "What went
wrong elsewhere" why it cannot happen, by the same number.
"""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ARCHITECTURE = TESTS.parent / "ARCHITECTURE.md"

_IN_SHORT = {
    "busy": "integration/test_runner_busy.py",
    "bounds": "integration/test_runner_boundaries.py",
    "cache": "integration/test_cache_guard.py",
    "commands": "integration/test_chat_commands.py",
    "deliver": "unit/gateway/test_delivery.py",
    "compress": "integration/test_compress_command.py",
    "damage": "integration/test_state_faults.py",
    "expiry": "unit/gateway/test_expiry_watcher.py",
    "growth": "integration/test_known_bugs_growth.py",
    "host": "integration/test_gateway_host.py",
    "identity": "integration/test_identity_process.py",
    "links": "unit/gateway/test_platform_supervisor.py",
    "list": "unit/state/test_session_list.py",
    "long": "integration/test_long_conversations.py",
    "mail": "integration/test_runner_mail.py",
    "names": "unit/agent/test_session_titles.py",
    "outgrown": "integration/test_gateway_compression.py",
    "resume": "unit/gateway/test_resume_after_restart.py",
    "programs": "integration/test_two_programs.py",
    "replace": "interop/test_gateway_host.py",
    "restarts": "integration/test_known_bugs_restarts.py",
    "restart": "integration/test_runner_restart.py",
    "routes": "unit/gateway/test_session_routing.py",
    "runner": "integration/test_gateway_runner.py",
    "sessions": "unit/gateway/test_session_resets.py",
    "shorteners": "integration/test_two_compressing.py",
    "soak": "integration/test_soak_short.py",
    "sockets": "integration/test_platforms_on_sockets.py",
    "store": "unit/gateway/test_session_store.py",
    "together": "integration/test_state_two_processes.py",
    "turns": "integration/test_known_bugs_turns.py",
}


@dataclass(frozen=True)
class KnownBug:
    """One mistake.

    Attributes:
        reports: Numbers in the public tracker of hermes-agent.
        what: What went wrong.
        tests: ``FILE NAME``; the file in short where that is known.
        is_explained: ARCHITECTURE.md says why it, or the part without a test, cannot happen.
    """

    reports: str
    what: str
    tests: tuple[str, ...] = ()
    is_explained: bool = False


KNOWN = {
    1: KnownBug("29335 31930 25921 34089", "compression loops and loses the new id", (
        "runner test_a_rotation_is_followed",
        "runner test_the_row_after_a_rotation_belongs_to_the_chat",
        "long test_two_thousand_turns",
        "long test_passes_in_vain_come_to_an_end",
        "outgrown test_a_chat_that_outgrows_its_model_goes_on",
    )),
    2: KnownBug("35809", "a reset after exhaustion fails again", (
        "bounds test_a_conversation_that_cannot_be_shortened_is_left",
        "outgrown test_what_cannot_be_shortened_begins_anew",
    )),
    3: KnownBug("51469", "/compress claims success without a database", (
        "compress test_no_success_is_claimed_when_nothing_could_be_written",
    )),
    4: KnownBug("59527", "the continuation of a conversation has no chat", (
        "runner test_the_row_after_a_rotation_belongs_to_the_chat",
    )),
    5: KnownBug("56391 23975", "an interruption during compression forks the conversation", (
        "busy test_what_must_not_be_cut_in_two_is_not_interrupted",
        "shorteners test_one_wins_and_none_forks",
        (
            "shorteners test_killed_while_the_summary_is_written_"
            "nothing_is_lost_and_it_can_be_done_at_once"
        ),
    )),
    6: KnownBug("45966 46237", "a kept agent is stale, or is made anew with each turn", (
        "cache test_own_turns_keep_the_agent_and_repeat_the_request",
        "cache test_a_turn_of_another_process_is_read_before_the_next",
        "soak test_everything_at_once",
    )),
    7: KnownBug("54947", "the guard fires when a chat changes its conversation", (
        "cache test_one_key_two_sessions_neither_rebuilds_nor_mixes",
    )),
    8: KnownBug("54878", "messages are swallowed by a conversation that has ended", (
        "store test_a_conversation_that_somebody_ended_is_not_gone_on_with",
    )),
    9: KnownBug("61993 61220", "a reset is undone by a restart", (
        "sessions test_a_reset_is_not_undone_by_what_lies_before_it",
        "sessions test_an_end_that_nobody_chose_is_taken_back",
        "turns test_a_new_conversation_stays_new_whatever_the_mirror_says",
    )),
    10: KnownBug("66255", "what is found again escapes the reset policy", (
        "sessions test_what_state_db_knows_expires_like_everything_else",
    )),
    11: KnownBug("46934 61052", "a cut-off answer is taken up for ever", (
        "resume test_freshness",
        "restart test_what_is_not_taken_up",
        "restart test_an_answer_that_was_cut_off_too_long_ago_begins_anew_where_chats_expire",
        "restarts test_what_was_cut_off_is_answered_where_it_was_asked",
        "restarts test_a_question_whose_conversation_was_ended_meanwhile_is_not_forgotten",
    )),
    12: KnownBug("7536 30719", "a chat that kills the gateway is taken up with each start", (
        "restart test_a_chat_that_is_cut_off_again_and_again_is_given_up_and_told",
        "unit/gateway/test_restart_files.py test_starts_are_counted_within_a_minute",
    )),
    13: KnownBug("49361 51726", "sessions.json is taken for the list of all conversations", (
        "turns test_the_mirror_says_that_it_is_not_the_list_of_sessions",
    )),
    14: KnownBug("46994", "one bad entry keeps all from loading", (
        "routes test_rows_that_make_no_sense_stay_as_they_are",
    )),
    15: KnownBug("2506 14981 15132", "ends are told again with each start, or never", (
        "turns test_an_end_that_was_told_is_not_told_again_after_a_restart",
        "expiry test_an_expired_conversation_is_ended_once_and_its_agent_goes",
    )),
    16: KnownBug("28746", "session:end comes with /new only", (
        "turns test_event_hooks_hear_of_every_end",
    )),
    17: KnownBug("2770", "expiry ends an agent at work", (
        "expiry test_a_chat_with_a_running_turn_is_left_for_the_next_look",
    )),
    18: KnownBug("53175 35994 52197", "closing agents blocks the loop, or a lock", (
        "unit/gateway/test_boundaries.py test_calls_come_one_after_the_other_off_the_loop",
        "bounds test_plugins_that_raise_or_hang_do_not_keep_new_from_working",
        "bounds test_new_does_not_wait_for_the_turns_of_other_chats",
    )),
    19: KnownBug("25315 29298 18438 58817", "memory grows with chats and time", (
        "growth test_chats_leave_nothing_behind_but_words",
        "growth test_mail_is_forgotten_while_the_gateway_runs",
        "growth test_a_running_gateway_keeps_its_mail_tidy",
        "unit/gateway/test_agent_cache.py test_the_oldest_and_the_idle_go_but_never_the_busy",
    )),
    20: KnownBug("46082 63551", "nothing is let go while somebody is connected", (
        "growth test_an_unused_agent_goes_though_its_person_stays_connected",
    )),
    21: KnownBug("31884 44212", "the message after /stop is swallowed", (
        "turns test_after_stop_the_next_message_gets_an_answer",
        "commands test_stop_ends_the_reply_and_the_next_message_is_answered",
        "unit/agent/test_empty_replies.py test_interruptions",
    )),
    22: KnownBug("28686", "a chat stays busy for ever", (
        "busy test_a_turn_that_hears_nothing_does_not_keep_its_chat",
        "runner test_a_bug_in_an_agent_is_told_and_the_chat_goes_on",
    )),
    23: KnownBug("28503 43066", "waiting messages are overwritten or merged", (
        "busy test_messages_wait_in_order_and_get_one_turn_each",
        "busy test_a_turn_that_has_not_stored_its_message_is_not_interrupted",
    )),
    24: KnownBug("17775 23778", "strangers come in while a chat is busy, or after a restart", (
        "busy test_a_stranger_does_not_disturb_a_running_turn",
        "restart test_what_is_not_taken_up",
    )),
    25: KnownBug("46866", "an approval waits for a word that never reaches it", (
        "integration/test_known_bugs_approvals.py test_a_plain_word_answers_what_waits",
        "unit/agent/tools/test_approvals.py test_time_out_denies",
    )),
    26: KnownBug("68502 2924 96078 53449 55761 4647", "a message is answered twice", (
        "mail test_what_is_brought_twice_is_answered_once",
        "mail test_a_message_brought_again_after_a_restart_is_not_answered_again",
        "deliver test_what_may_have_arrived_is_not_sent_again_at_once",
        "soak test_everything_at_once",
    )),
    27: KnownBug("58818 41696 63695", "a reply is lost between its end and its delivery", (
        "integration/test_killed_repliers.py test_killed_before_every_single_write",
        "mail test_whatever_goes_wrong_nothing_is_lost_or_doubled_without_a_word",
        "restarts test_a_refusal_arrives_although_the_platform_is_gone",
        "soak test_everything_at_once",
    )),
    28: KnownBug("37011 46621", "connecting again leaks files, or drops what came meanwhile", (
        "growth test_refused_logins_leave_no_connection_open",
        "sockets test_dropped_connections_lose_nothing",
    )),
    29: KnownBug("109786 109841 109687 109727 102589 101064", "state.db loses its log", (
        "together test_a_process_that_ends_does_not_take_the_log_away",
        "damage test_the_log_is_deleted",
        "damage test_another_file_in_its_place",
        "architecture/test_structure.py test_only_the_state_layer_speaks_sql",
    )),
    30: KnownBug("", "database is locked while one gateway replaces another", (
        "replace test_replaced_it_follows_the_other_and_takes_over_when_told",
        "damage test_locked_for_longer_than_anybody_waits",
    )),
    31: KnownBug("50502", "a broken search index makes the bot forget", (
        "damage test_a_damaged_index_stops_writing_with_words",
    )),
    32: KnownBug("860 47237", "messages are stored twice", (
        "mail test_a_message_brought_again_after_a_restart_is_not_answered_again",
    )),
    33: KnownBug("18269 18370 20001 19029 18765", "empty sessions fill the list", (
        "runner test_without_a_model_nothing_is_stored",
        "ui/chat/test_chat_page.py test_selecting_shows_and_changes_nothing",
        "unit/state/test_maintenance.py test_ghosts",
        "unit/state/test_maintenance.py test_orphans_meet_all_six_conditions",
    )),
    34: KnownBug("15949 80542", "conversations have no name", (
        "list test_preview_is_the_first_user_message_even_when_taken_back",
        "names test_a_conversation_is_named_after_its_first_exchange",
    )),
    35: KnownBug("38704 32065", "session not found after the back end came again", (
        "cache test_a_deleted_row_drops_the_entry_and_keeps_the_text",
    ), is_explained=True),
    36: KnownBug("35314", "settings that are being written leave no model", (
        "programs test_settings_that_break_leave_the_model_they_named",
        "programs test_another_model_in_the_settings_answers_the_next_turn",
    )),
    37: KnownBug("42675 12875", "a wrong last state, or a restart that cancels itself", (
        "identity test_a_claim_writes_the_three_files_and_a_release_leaves_them_in_order",
        "host test_a_started_gateway_answers_and_a_stopped_one_leaves_nothing",
        "host test_a_chat_may_ask_for_a_restart",
        "cli/test_gateway_run.py test_a_restart_from_outside_happens_inside",
    )),
    38: KnownBug("64934", "two chats write into one conversation at once", (
        "turns test_a_row_of_agents_in_one_conversation_waits_for_each_other",
        "host test_both_runners_never_answer_in_one_conversation_at_once",
    )),
    39: KnownBug("45456", "a start takes a chat up twice", (
        "turns test_what_was_cut_off_and_a_new_message_are_two_turns_of_one_agent",
        "restart test_messages_that_come_while_we_start_are_answered_after_what_was_cut_off",
    )),
    40: KnownBug("30170", "an interruption kills subagents", (
        "busy test_what_must_not_be_cut_in_two_is_not_interrupted",
    )),
    41: KnownBug("50675", "/usage begins at nothing with each new agent", (
        "commands test_usage_reads_what_is_stored",
    )),
    42: KnownBug("12438 99215", "after a crash nothing starts", (
        "identity test_what_a_crash_left_behind_is_in_nobodys_way",
        "restart test_killed_in_the_middle_of_a_turn",
        "soak test_everything_at_once",
    )),
    43: KnownBug("103452", "a stopped turn keeps its late agent over a newer one", (
        "turns test_an_agent_that_comes_late_replaces_no_newer_one",
    )),
    44: KnownBug("7061 22418 71645", "two gateways use one bot, or one takes itself for two", (
        "host test_a_token_that_another_gateway_uses_is_left_to_it",
        "growth test_our_own_lock_is_no_squatter",
        "interop/test_gateway_identity.py test_started_together_one_of_both_gets_the_home",
    )),
    45: KnownBug("18513 7909 72664", "a bot that hears nothing looks healthy", (
        "sockets test_a_server_that_says_nothing_is_not_called_connected",
        "links test_a_connection_that_never_says_a_word_is_not_called_connected",
        "links test_silence_is_seen_probed_and_mended",
    )),
}  # fmt: skip


@functools.cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(each.name for each in ast.walk(tree) if isinstance(each, kinds))


def explained() -> set[int]:
    """The rows that ARCHITECTURE.md explains."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    _, _, section = text.partition("\n## What went wrong elsewhere\n")
    section = section.partition("\n## ")[0]
    return {int(number) for number in re.findall(r"^- \((\d+)\)", section, re.MULTILINE)}


def test_every_row_is_there() -> None:
    assert list(KNOWN) == list(range(1, 46))


@pytest.mark.parametrize("number", KNOWN)
def test_something_would_show_it(number: int) -> None:
    bug = KNOWN[number]
    assert bug.tests or bug.is_explained
    for each in bug.tests:
        file, name = each.split()
        assert name in names_in(_IN_SHORT.get(file, file)), f"{each}: {bug.what}"


def test_what_has_no_test_is_explained() -> None:
    assert explained() == {number for number, bug in KNOWN.items() if bug.is_explained}
