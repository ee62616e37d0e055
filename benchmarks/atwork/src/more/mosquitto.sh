# Debian: mosquitto mosquitto-clients
mosquitto -p 18103 >/dev/null 2>&1 & sleep 1
mosquitto_sub -p 18103 -t '#' >/dev/null & sleep 1
yes 'a message of some length' | mosquitto_pub -p 18103 -l -t a

# SPDX-License-Identifier: Apache-2.0
