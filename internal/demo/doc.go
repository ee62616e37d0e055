// SPDX-License-Identifier: Apache-2.0

// Package demo is the built-in workload of prywalk demo: a small service whose
// profile is known beforehand, so that a report can be checked by eye.
package demo
