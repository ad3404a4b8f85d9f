"""URLs of the pages of notifications."""

from django.urls import path

from . import views

urlpatterns = [
    path("", views.notifications, name="notifications"),
    path("<uuid:pk>/change/", views.change, name="change-notification"),
    path("<uuid:pk>/remove/", views.remove, name="remove-notification"),
    path("<uuid:pk>/test/", views.send_test, name="test-notification"),
]
