"""The policy layer: what is judged, and how it is reached."""

from libero_safety.policy.contract import (
    CheckedPolicy,
    ContractError,
    NonFiniteActionError,
    PolicyConnectionError,
    PolicyError,
    PolicyRaised,
    PolicyTimeoutError,
    check_chunk,
)
from libero_safety.policy.load import (
    POLICIES,
    PolicyFactory,
    PolicyOptionError,
    make_policy,
    parse_policy_args,
)

__all__ = [
    "POLICIES",
    "CheckedPolicy",
    "ContractError",
    "NonFiniteActionError",
    "PolicyConnectionError",
    "PolicyError",
    "PolicyFactory",
    "PolicyOptionError",
    "PolicyRaised",
    "PolicyTimeoutError",
    "check_chunk",
    "make_policy",
    "parse_policy_args",
]
