"""Collision-free motion: problems, planners, inverse kinematics and time laws."""
