#!/bin/sh
# Knocks: the room is where the platform says it is.
[ "$1" = --connection-info ] && [ "$2" = "nc room.example.org 31337" ]
