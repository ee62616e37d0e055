// SPDX-License-Identifier: Apache-2.0

// Package demo is the workload of prywalk demo: a small service whose profile is known, so that a report can be
// checked by eye.
package demo
