"""Addresses of what is inferred."""

from django.urls import path

from . import advisor_views, views

urlpatterns = [
    path("", views.answer, name="answer"),
    path("compare/", views.compare, name="compare"),
    path("advisor/", advisor_views.advisor, name="advisor"),
    path("model-quality/", views.model_quality, name="model-quality"),
]
