// SPDX-License-Identifier: Apache-2.0

// Package live tests package hotspot with the machine's JVMs.
package live
