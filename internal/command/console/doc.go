// SPDX-License-Identifier: Apache-2.0

// Package console is the user's terminal: messages, errors, progress, width and colours.
package console
