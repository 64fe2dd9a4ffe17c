"""This package has what secured listeners need: SASL mechanisms and the order of an authentication (without IO), certificates, and the
settings of clients."""
