"""The phases of the layered layout: layering, crossing minimization, node placement, edge
routing.
"""
