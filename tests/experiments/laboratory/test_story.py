"""The operator's story in the browser: register a host, plan, start, watch, file."""

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model

from experiments.imports import pipeline
from experiments.models import Campaign, CampaignRun, Host, ImportBatch
from kdb.jobs import jobs
from tests.experiments.laboratory.conftest import do
from tests.factories import make_user

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def sign_in(page, live_server, client, user) -> None:
    client.force_login(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])


def test_from_a_machine_to_a_draft(page, live_server, client, plain_lab, keys, published_evidence):
    keys(plain_lab)
    user = make_user("operators")
    sign_in(page, live_server, client, user)
    page.goto(f"{live_server.url}/laboratory/hosts/")
    page.click("text=Register a host")
    fields = {"name": "Lab 1", "slug": "lab-1", "address": "127.0.0.1", "port": str(plain_lab.port), "key_name": "lab"}
    for name, text in (fields | {"pools": f"{plain_lab.pool} image"}).items():
        page.fill(f"[name={name}]", text)
    page.check("[name=drivers][value=native]")
    page.click("main button[type=submit]")
    do(Host.objects.get().job)
    page.wait_for_selector("text=Is this the host?")
    page.click("text=Accept this key")
    page.wait_for_selector("text=to contact the host")
    do(Host.objects.get().job)
    page.wait_for_selector("text=Processor")
    page.click("text=Plan a campaign here")
    for name, text in {
        **{"title": "A night", "slug": "night", "run_seconds": "2", "repetitions": "1", "disk_mib": "320"},
        "scale_percent": "10",
    }.items():
        page.fill(f"[name={name}]", text)
    page.select_option("[name=pool]", index=1)
    page.select_option("[name=driver]", "native")
    page.select_option("[name=engine]", "fio")
    page.uncheck("[name=follows_protocol]")  # files of 3 GiB for a run of two seconds
    page.check("[name=host_file_systems][value=ext4]")
    page.check("[name=workloads][value=varmail]")
    page.click("text=Check and estimate")
    page.wait_for_selector("text=1 run, about")
    page.click("text=Plan it")
    page.click("button:has-text('Start')")
    page.wait_for_selector("text=waits for a worker")
    jobs.run(CampaignRun.objects.get().job_id)
    page.wait_for_selector("text=Finished: 1 of 1 runs")  # by itself
    page.click("text=Make a draft case study")
    page.wait_for_selector("text=Being filed")
    pipeline.finish(ImportBatch.objects.get())
    page.wait_for_selector("text=in the case study night")
    assert Campaign.objects.get().case_study.owner == get_user_model().objects.get(pk=user.pk)
