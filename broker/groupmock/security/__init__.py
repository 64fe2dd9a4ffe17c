"""Secured listeners: SASL mechanisms and the order of an authentication (without IO), certificates, and the settings that clients need."""
