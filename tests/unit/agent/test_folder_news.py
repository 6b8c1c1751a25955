"""What the model is told about a folder that has changed."""

from hermes_desktop.agent.turns.folder_news import folder_news, folder_words

PROMPT = f"You have tools; {folder_words('/work')} Use them."
NEWS = "[The working folder is now /other]"


def said(text: str, note: str = "") -> dict[str, str]:
    sent = {"api_content": f"{note}\n\n{text}"} if note else {}
    return {"role": "user", "content": text, **sent}


def test_a_folder_is_told_once() -> None:
    assert folder_news("/work", PROMPT, [said("hi")]) == ""
    assert folder_news("/other", PROMPT, [said("hi")]) == NEWS
    history = [said("hi"), said("go on", NEWS)]
    assert folder_news("/other", PROMPT, history) == ""
    assert folder_news("/work", PROMPT, history) == "[The working folder is now /work]"


def test_the_latest_news_count() -> None:
    back = "[The person was away.]\n\n[The working folder is now /work]"
    history = [said("hi", NEWS), said("hello", back)]
    assert folder_news("/work", PROMPT, history) == ""
    assert folder_news("/other", PROMPT, history) == NEWS


def test_what_a_user_types_is_no_news() -> None:
    for history in ([said(NEWS)], [said(NEWS, "[The person was away.]")]):
        assert folder_news("/other", PROMPT, history) == NEWS


def test_a_first_choice_is_told_and_other_prompts_stay() -> None:
    unchosen = f"You have tools; {folder_words('')} Use them."
    assert folder_news("/other", unchosen, []) == NEWS
    assert folder_news("/other", "A prompt of another program.", []) == ""
