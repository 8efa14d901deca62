# SPDX-License-Identifier: Apache-2.0
"""Python bindings of the native part. Each module wraps one kind of object from querytape.h."""
