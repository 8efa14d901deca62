# SPDX-License-Identifier: Apache-2.0
"""Work on a Ray cluster: the connection, and tasks whose results are paths."""
