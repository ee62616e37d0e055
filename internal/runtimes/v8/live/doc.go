// SPDX-License-Identifier: Apache-2.0

// Package live has the tests of package v8 that run programs of every release of Node that is there.
package live
