"""URLs of the pages of evidence, drafts and the laboratory."""

from django.urls import path

from .campaigns import views as laboratory
from .case_studies import revision_views
from .case_studies import views as case_studies
from .catalogue import views as knowledge
from .catalogue.search import views as search
from .contributors import views as contributors
from .imports.drafts import import_views as imports
from .imports.drafts import views as drafts
from .imports.tables import views as tables

urlpatterns = [
    path("case-studies/", case_studies.case_study_list, name="case-study-list"),
    path("case-studies/<slug:slug>/", case_studies.case_study_detail, name="case-study-detail"),
    path("case-studies/<slug:slug>/retract/", drafts.retract, name="case-study-retract"),
    path("case-studies/<slug:slug>/end/", drafts.end, name="case-study-end"),
    path("case-studies/<slug:slug>/again/", laboratory.case_study_again, name="case-study-again"),
    path("case-studies/<slug:slug>/<slug:step>/", drafts.draft_step, name="case-study-step"),
    path("drafts/", drafts.draft_list, name="draft-list"),
    path("case-studies/<slug:slug>/bundle.zip", case_studies.case_study_bundle, name="case-study-bundle"),
    path("case-studies/<slug:slug>/citation.bib", case_studies.citation, name="case-study-citation"),
    path("measurements/<int:pk>/", case_studies.measurement, name="measurement"),
    path("derived-values/<int:pk>/", case_studies.derived_value, name="derived-value"),
    path("case-study-bundle.schema.json", case_studies.bundle_schema, name="bundle-schema"),
    path("drafts/bundle/", drafts.import_bundle, name="bundle-upload"),
    path("drafts/new/", drafts.draft_new, name="draft-new"),
    path("drafts/<slug:slug>/", drafts.draft_detail, name="draft-detail"),
    path("drafts/<slug:slug>/edit/", drafts.draft_edit, name="draft-edit"),
    path("drafts/<slug:slug>/upload/", imports.upload, name="draft-upload"),
    path("drafts/<slug:slug>/imports/", imports.decide_imports, name="draft-imports"),
    path("tables/new/", tables.table_new, name="table-new"),
    path("tables/<int:pk>/", tables.table_detail, name="table-detail"),
    path("tables/<int:pk>/conditions.toml", tables.table_conditions, name="table-conditions"),
    path("tables/<int:pk>/<slug:step>/", tables.table_step, name="table-step"),
    path("imports/<int:pk>/", imports.import_detail, name="import-detail"),
    path("files/<int:pk>/", imports.raw_file, name="raw-file"),
    path("collect.sh", imports.collect_script, name="collect-script"),
    path("results-template.<slug:suffix>", imports.table_template, name="table-template"),
    path("sources/", case_studies.source_list, name="source-list"),
    path("result-sets/", knowledge.result_set_list, name="result-set-list"),
    path("contributors/your-name/", contributors.your_name, name="your-name"),
    path("contributors/<slug:slug>/", contributors.contributor_detail, name="contributor-detail"),
    path("contributors/<slug:slug>/badge.svg", contributors.badge, name="contributor-badge"),
    path("search/", search.search_page, name="search"),
    path("knowledge/", knowledge.knowledge, name="knowledge"),
    path("knowledge/glossary/", knowledge.glossary_page, name="glossary"),
    path("abilities/", knowledge.abilities, name="abilities"),
    path("knowledge/revisions/", revision_views.revision_list, name="revision-list"),
    path("knowledge/file-systems/<slug:slug>/", knowledge.file_system_detail, name="file-system-detail"),
    path("knowledge/hypervisors/<slug:slug>/", knowledge.hypervisor_detail, name="hypervisor-detail"),
    path("knowledge/workloads/<slug:slug>/", knowledge.workload_detail, name="workload-detail"),
    path("laboratory/hosts/", laboratory.host_list, name="host-list"),
    path("laboratory/hosts/new/", laboratory.host_new, name="host-new"),
    path("laboratory/hosts/scripts/<str:name>", laboratory.host_script, name="host-script"),
    path("laboratory/hosts/<slug:slug>/", laboratory.host_detail, name="host-detail"),
    path("laboratory/hosts/<slug:slug>/edit/", laboratory.host_edit, name="host-edit"),
    path("laboratory/hosts/<slug:slug>/remove/", laboratory.host_remove, name="host-remove"),
    path("laboratory/hosts/<slug:slug>/forget/", laboratory.host_forget, name="host-forget"),
    path("laboratory/campaigns/", laboratory.campaign_list, name="campaign-list"),
    path("laboratory/campaigns/new/", laboratory.campaign_new, name="campaign-new"),
    path("laboratory/campaigns/<slug:slug>/", laboratory.campaign_detail, name="campaign-detail"),
    path("laboratory/campaigns/<slug:slug>/remove/", laboratory.campaign_remove, name="campaign-remove"),
    path("laboratory/campaigns/<slug:slug>/plan.json", laboratory.campaign_plan, name="campaign-plan"),
    path("laboratory/campaigns/<slug:slug>/runs/<int:position>/", laboratory.run_detail, name="run-detail"),
    path("laboratory/outputs/<int:pk>/", laboratory.artifact, name="run-artifact"),
]
