// SPDX-License-Identifier: Apache-2.0

// Package languages has each language's rules for frames, threads and waits, in a file each.
package languages
