"""Send mail of accounts in jobs.

So a request does not wait for the mail server, and its duration does not tell whether the address has an account.
"""

from typing import Any

from django.contrib.auth.forms import PasswordResetForm
from django.core.mail import send_mail
from django.template.loader import render_to_string

from kdb.jobs import jobs

_TEMPLATES = "accounts/password_reset"


class _ResetForm(PasswordResetForm):
    """Django's form, but a failure to send raises, so that the job fails; Django would only log it."""

    def send_mail(
        self,
        subject_template_name: str,
        email_template_name: str,
        context: dict[str, Any],
        from_email: str | None,
        to_email: str,
        html_email_template_name: str | None = None,
    ) -> None:
        subject = " ".join(render_to_string(subject_template_name, context).split())
        send_mail(subject, render_to_string(email_template_name, context), from_email, [to_email])


@jobs.handler("mail_password_reset")
def mail_password_reset(run: jobs.JobRun, *, email: str, domain: str, is_https: bool) -> None:
    """Send a reset link to each account of this address that has a password. May be repeated."""
    form = _ResetForm({"email": email})
    if form.is_valid():
        form.save(
            domain_override=domain,
            use_https=is_https,
            email_template_name=f"{_TEMPLATES}_email.txt",
            subject_template_name=f"{_TEMPLATES}_subject.txt",
        )
