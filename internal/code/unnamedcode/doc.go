// SPDX-License-Identifier: Apache-2.0

// Package unnamedcode names code without functions by its place, and says how to get names. A runtime is recognized
// by the files that a process maps.
package unnamedcode
