"""The page of stored machines."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from .forms import KeptMachineForm
from .machines import TooManyMachines, delete_machine, store_machine
from .selectors import address_of, kept_machines


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def machines(request: HttpRequest) -> HttpResponse:
    """Show the user's machines; POST adds one and leads to the first page with it."""
    form = KeptMachineForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(address_of(store_machine(request.user, form.cleaned_data["name"], form.facts)))
        except TooManyMachines as refusal:
            form.add_error(None, str(refusal))
    context = {"form": form, "machines": kept_machines(request.user)}
    return render(request, "modelling/machines.html", context, status=422 if form.is_bound else 200)


@require_POST
@login_required
def forget_machine(request: HttpRequest, pk: int) -> HttpResponse:
    if not delete_machine(request.user, pk):
        raise Http404(f"no machine {pk} of yours")
    return redirect("machines")
