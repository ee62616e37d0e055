// SPDX-License-Identifier: Apache-2.0

// Package namehints explains code without names and incomplete stacks, and gives remedies. A run-time system is
// recognized by the files that a process maps.
package namehints
