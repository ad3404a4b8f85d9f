"""Addresses of what is inferred."""

from django.urls import path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

from .answer_pages import about as about_views
from .answer_pages import compare as compare_views
from .answer_pages import fair_play_audit, mix
from .answer_pages import views as answer_views
from .answer_store.previews import views as preview_views
from .answer_store.subscriptions import feed as answer_feed
from .answer_store.subscriptions import views as following_views
from .ask.advice import views as advisor_views
from .ask.guides import views as guide_views
from .claims import views as claim_views
from .fleet.detection import views as detection_views
from .fleet.moving import views as moving_views
from .guidance import views as guidance_views
from .own_lab import views as here_views
from .own_lab.changes import views as change_views
from .own_lab.changes.feed import ChangeFeed
from .own_lab.kits import views as kit_views
from .prediction.validation import views as validation_views

urlpatterns = [
    path("", answer_views.answer, name="answer"),
    path("overview/", RedirectView.as_view(pattern_name="answer", permanent=True), name="overview"),
    path("feed/", answer_feed.feed, name="feed"),
    path("following/", following_views.followed_questions, name="followed-questions"),
    path("following/<int:pk>/stop/", following_views.unfollow_question, name="unfollow-question"),
    path("about/", about_views.about, name="about"),
    path("measure/", about_views.measure, name="measure"),
    path("api/", about_views.api_page, name="api-page"),
    path("status/", about_views.status_page, name="status-page"),
    path("known/<slug:slug>/", about_views.known, name="known"),
    path("choices/", answer_views.choices, name="question-choices"),
    path("laboratories/", here_views.laboratory_list, name="my-laboratories"),
    path("laboratories/<slug:slug>/", here_views.laboratory_detail, name="my-laboratory"),
    path("laboratories/sittings/<int:pk>/", here_views.sitting_detail, name="sitting"),
    path("measured/<slug:slug>/", here_views.visit, name="visit"),
    path("laboratories/<slug:slug>/series/", change_views.series_list, name="my-series"),
    path("laboratories/<slug:slug>/series/<slug:key>/", change_views.series_detail, name="my-one-series"),
    path("series/<slug:address>/", change_views.shared_series, name="shared-series"),
    path("series/<slug:address>/badge.svg", change_views.badge, name="series-badge"),
    path("series/<slug:address>/<int:sitting>/", change_views.shared_series, name="shared-series-until"),
    path("series-changes/", change_views.change_list, name="series-changes"),
    path("series-changes/feed/", require_safe(ChangeFeed()), name="series-change-feed"),
    path("series-changes/<int:pk>/", change_views.change_detail, name="series-change"),
    path("kdb.py", here_views.client_file, name="client-file"),
    path("capacity/", answer_views.capacity, name="capacity"),
    path("compare/", compare_views.compare, name="compare"),
    path("mix/", mix.mix_page, name="mix-page"),
    path("advisor/", advisor_views.advisor, name="advisor"),
    path("case-studies/<slug:slug>/preview/", preview_views.preview, name="publication-preview"),
    path("knowledge/revisions/<int:number>/", preview_views.revision_effects, name="revision-effects"),
    path("case-studies/<slug:slug>/fair-play/", fair_play_audit.fair_play, name="fair-play"),
    path("case-studies/<slug:slug>/claims/", claim_views.claims_of_case_study, name="claims-of-case-study"),
    path("case-studies/<slug:slug>/effects/", preview_views.case_study_effects, name="case-study-effects"),
    path("claims/", claim_views.claim_papers, name="claim-papers"),
    path("claims/<slug:slug>/", claim_views.claims_of_paper, name="claims-of-paper"),
    path("claims/<slug:slug>/<slug:code>/", claim_views.claim_detail, name="claim-detail"),
    path("laboratory/campaigns/<slug:slug>/replication/", claim_views.replication_page, name="replication"),
    path("guides/", guide_views.guide_list, name="guides"),
    path("guides/<slug:slug>/", guide_views.guide_detail, name="guide"),
    path("kits/", kit_views.kit_list, name="kits"),
    path("kits/<slug:slug>/", kit_views.kit_detail, name="kit"),
    path("guidance/", guidance_views.guidance_list, name="guidance"),
    path("guidance/contradictions/", guidance_views.contradictions, name="contradictions"),
    path("guidance/<slug:code>/", guidance_views.guidance_detail, name="guidance-detail"),
    path("hypotheses/", claim_views.hypotheses, name="hypotheses"),
    path("laboratory/hosts/<slug:slug>/observed/", detection_views.observed_host, name="observed-host"),
    path("laboratory/observed/<int:pk>/", detection_views.observed_machine, name="observed-machine"),
    path("laboratory/detection/", detection_views.detection_model, name="detection-model"),
    path("laboratory/trail/", moving_views.audit_trail, name="audit-trail"),
    path("placement/", moving_views.placement, name="placement"),
    path("placement/plans/<int:pk>/", moving_views.plan_detail, name="placement-plan"),
    path("placement/moves/<int:pk>/", moving_views.move_detail, name="placement-move"),
    path("placement/hosts/<slug:slug>/policy/", moving_views.policy, name="placement-policy"),
    path("placement/machines/<int:pk>/move/", moving_views.move_disk, name="placement-move-disk"),
    path("placement/pools/<int:pk>/empty/", moving_views.empty_pool, name="placement-empty-pool"),
    path("placement/machines/<int:pk>/mix/", moving_views.machine_mix, name="placement-mix"),
    path("model-quality/", validation_views.model_quality, name="model-quality"),
]
