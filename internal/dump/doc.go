// SPDX-License-Identifier: Apache-2.0

// Package dump looks at all threads of a process once, or reads them from a core, and
// describes their stacks with names, for people and as JSON.
package dump
