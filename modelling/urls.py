"""Addresses of what is inferred."""

from django.urls import path

from . import views

urlpatterns = [
    path("", views.answer, name="answer"),
    path("compare/", views.compare, name="compare"),
    path("model-quality/", views.model_quality, name="model-quality"),
]
