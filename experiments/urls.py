"""Addresses of the facts."""

from django.urls import path

from .views import case_studies, knowledge

urlpatterns = [
    path("case-studies/", case_studies.case_study_list, name="case-study-list"),
    path("case-studies/<slug:slug>/", case_studies.case_study_detail, name="case-study-detail"),
    path("knowledge/", knowledge.knowledge, name="knowledge"),
    path("knowledge/file-systems/<slug:slug>/", knowledge.file_system_detail, name="file-system-detail"),
    path("knowledge/hypervisors/<slug:slug>/", knowledge.hypervisor_detail, name="hypervisor-detail"),
    path("knowledge/workloads/<slug:slug>/", knowledge.workload_detail, name="workload-detail"),
]
