"""MuJoCo's warnings without the log file that it would write into the working folder."""


def no_log_file() -> None:
    """Drop MuJoCo's warnings in this process; what matters is read from its counters, or raised."""
    import mujoco  # here, so that what needs no physics does without it

    mujoco.set_mju_user_warning(_drop)


def _drop(message: str) -> None:
    """Do nothing."""
