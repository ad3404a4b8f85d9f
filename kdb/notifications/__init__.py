"""Tell people what they want to be told: by mail, or as a webhook.

subscriptions   where somebody wants to be told, and of what
announcing      what happened becomes a delivery for each subscription, in the transaction in which it happens
delivering      a job sends what is due, again and again until it is taken or nobody takes it for a week
webhook, mail   the two ways
"""
