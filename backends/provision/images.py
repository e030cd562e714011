"""The images that hold an OceanBase: whom to enter as, and what their containers are told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

CONTAINER, REUSED = "container", "reused container"
"""The two ways to have one, as facts tell them: for one run, or kept for the next."""

IMAGE_VARIABLE = "POWERCONTEXT_HARNESS_OCEANBASE_IMAGE"
"""The environment variable that names an image when no option does."""

REUSE_VARIABLE = "POWERCONTEXT_HARNESS_REUSE"
"""The environment variable that, when it is not empty, keeps the container for the next run."""

MEMORY_VARIABLE = "POWERCONTEXT_HARNESS_OCEANBASE_MEMORY"
"""The environment variable that says how much memory the engine of a container may have, such as 6G."""

ENGINE_LABEL = "powercontext-harness.engine"
"""The label by which an image of our own says what engine it holds."""

PORT = 2881


@dataclass(frozen=True, slots=True)
class Flavour:
    """A kind of image."""

    name: str
    user: str
    """Whom to enter as, in the tenant that is tested."""
    password_variable: str
    """What sets that user's password; a start sets it last, so that who can enter with it finds all done."""
    settings: Mapping[str, str]
    memory_variable: str

    def environment(self, password: str) -> dict[str, str]:
        """Return what a container is told; the password must be letters and digits."""
        told = {**self.settings, self.password_variable: password}
        if memory := os.environ.get(MEMORY_VARIABLE):
            told[self.memory_variable] = memory
        return told


COMMUNITY = Flavour(
    name="OceanBase CE",
    user="root@test",
    password_variable="OB_TENANT_PASSWORD",
    # Slim starts from a prepared data directory, in a minute instead of five.
    settings={"MODE": "slim", "OB_TENANT_NAME": "test", "OB_MEMORY_LIMIT": "6G"},
    memory_variable="OB_MEMORY_LIMIT",
)
"""oceanbase/oceanbase-ce, a whole observer with a tenant `test`."""

SEEKDB = Flavour(
    name="seekdb", user="root", password_variable="ROOT_PASSWORD", settings={}, memory_variable="MEMORY_LIMIT"
)
"""oceanbase/seekdb, upstream's image of the engine as one process."""

OURS = Flavour(
    name="seekdb", user="root", password_variable="ROOT_PASSWORD", settings={}, memory_variable="MEMORY_BUDGET"
)
"""What docker/build.sh makes of the wheel."""


def flavour_of(image: str, labels: Mapping[str, str]) -> Flavour:
    """Tell the kind of an image by its labels, else by the last part of its name; else it is taken for OceanBase CE."""
    if labels.get(ENGINE_LABEL) == "seekdb":
        return OURS
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    return SEEKDB if "seekdb" in name else COMMUNITY
