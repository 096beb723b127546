"""Measurements that people can run themselves: ``make bench``."""
