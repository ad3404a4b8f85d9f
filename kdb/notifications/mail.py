"""Send a delivery by mail to the account's address."""

import logging
from smtplib import SMTPException
from urllib.parse import urlsplit

from django.core.mail import EmailMessage

from . import NotSent, subscriptions
from .models import Delivery

logger = logging.getLogger(__name__)

MANAGE = "/accounts/notifications/"


def send(delivery: Delivery) -> None:
    """Send the delivery by mail. Raises NotSent. Its Message-ID has the delivery's id, so repeats can be recognised."""
    subscription = delivery.subscription
    if why_not := subscriptions.why_no_mail(subscription.user):
        raise NotSent(why_not)
    site = subscription.site
    text = f"{delivery.text}\n\n{site}{delivery.path}\n\n-- \nYou asked KDB to tell you. Change it: {site}{MANAGE}\n"
    host = urlsplit(site).hostname
    headers = {"Message-ID": f"<{delivery.pk}@{host}>", "Auto-Submitted": "auto-generated"}
    try:
        EmailMessage(delivery.subject, text, to=[subscription.user.email], headers=headers).send()
    except (SMTPException, OSError) as error:
        logger.warning("mail not sent delivery=%s reason=%r", delivery.pk, error)
        raise NotSent("The mail server did not take the letter.") from error
